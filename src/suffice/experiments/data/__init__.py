"""What a generative model can do with data that are not complete: missing cells, missing labels."""
