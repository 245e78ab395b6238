"""Arrays written to and read from storage by TensorStore, while the program goes on."""
