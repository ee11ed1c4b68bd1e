"use strict";

module.exports = require("sealdex/langgraph");
