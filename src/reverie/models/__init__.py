"""Language models behind one port: provider SDKs, the offline model, and a scripted model."""
