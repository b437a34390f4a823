"""Questions no paper asks: what sfumato adds."""
