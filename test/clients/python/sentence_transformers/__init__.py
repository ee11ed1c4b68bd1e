"""Stands in for a package of gigabytes: the clients' LangChain stores import its class, and ask only whether an object is one."""


class SentenceTransformer:
    pass
