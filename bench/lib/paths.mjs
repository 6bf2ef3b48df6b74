import { fileURLToPath } from 'node:url'

const inRepository = (path) => fileURLToPath(new URL(path, new URL('../../', import.meta.url)))

export const RESULTS = inRepository('bench/results')
/** Pages that contain results. */
export const DOCS = ['docs/performance.md', 'docs/scaling.md'].map(inRepository)
