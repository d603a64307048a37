"""The gestures of a browser under the path that they had before."""
