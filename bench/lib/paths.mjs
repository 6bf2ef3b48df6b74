import { fileURLToPath } from 'node:url'

const inRepository = (path) => fileURLToPath(new URL(path, new URL('../../', import.meta.url)))

export const RESULTS = inRepository('bench/results')
export const DOCS = inRepository('docs/performance.md')
