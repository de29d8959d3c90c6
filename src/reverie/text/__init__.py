"""Text analysis: words and stems, languages, dates and time words, likeness of texts. Pure."""
