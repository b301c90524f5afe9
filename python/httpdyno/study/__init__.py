"""Study files: TOML as people write it, checked strictly, turned into a `Study`."""
