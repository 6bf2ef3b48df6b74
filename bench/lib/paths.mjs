import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const inRepository = (path) => fileURLToPath(new URL(path, new URL('../../', import.meta.url)))

export const RESULTS = inRepository('bench/results')
/** In `docs/`, because the npm package contains `docs/` but not `bench/`. */
export const PLOTS = inRepository('docs/plots')

const DOCS_FOLDER = inRepository('docs')
/** Pages that may contain results. */
export const DOCS = readdirSync(DOCS_FOLDER)
  .filter((name) => name.endsWith('.md'))
  .map((name) => join(DOCS_FOLDER, name))
