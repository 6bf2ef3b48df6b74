#!/usr/bin/env node
import { existsSync } from 'node:fs'

// A clone without a build has no dist folder. There, a script that is not published runs the sources.
const isBuilt = existsSync(new URL('../dist/cli.js', import.meta.url))
await import(isBuilt ? '../dist/cli.js' : '../scripts/run-sources.mjs')
