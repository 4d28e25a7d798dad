"""What the GPU tests and the recording of the golden traces share: building, running, comparing."""
