"""Whether adopting and tuning a person's site touches anything of theirs, killed or not."""
