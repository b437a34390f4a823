"""The command `sfumato`. Only this folder and the experiments read TOML or print."""
