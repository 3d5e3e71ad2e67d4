"""What a program does is written down here: values, their metas, and the trie that a trace walks."""
