"""What `kiln explain` says of a text; the command is the scripts' first argument."""
import json
import subprocess
import sys


def explained(text, *words):
    done = subprocess.run([sys.argv[1], "explain", "-", *words], input=text, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{text}\n{done.stderr}")
    return done.stdout


def plan(text, *words):
    return json.loads(explained(text, "--json", *words))
