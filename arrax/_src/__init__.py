"""Names that the documents and older programs import from the private package; everything here has a public name, too."""
