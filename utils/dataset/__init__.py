"""What `utils/download.py` is made of: hub, safe unpacking, receipt, inventory, and their order."""
