"""Reading text: words and their stems, languages, dates and time words, how alike two texts are. Pure."""
