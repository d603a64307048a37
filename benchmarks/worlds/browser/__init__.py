"""Worlds in web pages: the browser, gestures, when a page is quiet."""
