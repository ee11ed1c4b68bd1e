"""Runs a notebook in a folder and writes it with its outputs. Arguments: the notebook, the folder, the result."""

import logging
import sys

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionComplete


class PatientClient(NotebookClient):
    """Deno's kernel may report that a cell is done before it sends the output: keep listening until the timeout."""

    def process_message(self, *arguments):
        try:
            return super().process_message(*arguments)
        except CellExecutionComplete:
            return None


source, folder, result = sys.argv[1:]
notebook = nbformat.read(source, as_version=4)
where = {"metadata": {"path": folder}}
client = PatientClient(notebook, timeout=1800, iopub_timeout=1, record_timing=False, resources=where)
# Each timeout is a warning.
client.log.setLevel(logging.ERROR)
client.execute()
nbformat.write(notebook, result)
