"""Two model entries on the same samples, side by side: why does one answer other than the other?"""
