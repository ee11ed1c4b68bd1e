#!/usr/bin/env node
// In the source tree from the start, since npm links no command whose file does not exist yet.
import "../dist/main.js";
