"""Language models behind one port: official SDKs, the offline model, a scripted one for tests."""
