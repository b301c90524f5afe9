"""What runs here: from the words of a person to the servers that they mean. Executes nothing."""
