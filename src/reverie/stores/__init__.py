"""What is kept outside the process: files, history, money."""
