"""Built bottlenecks, one for each word of the verdict, and healthy servers."""
