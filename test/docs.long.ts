import { transform } from 'esbuild'
import { afterAll, it } from 'vitest'
import { createFolder } from './helpers/folder.ts'
import { startNode } from './helpers/process.ts'
import { blocks } from './helpers/readme.ts'

const folder = createFolder()
afterAll(folder.remove)

/** Inserts free ports, and files in a temporary folder. */
const isolate = (code: string): string =>
  code
    .replace(/\b[34]000\b|\b3001\b/g, '0')
    .replaceAll("'inbox.db'", JSON.stringify(folder.fileIn('inbox.db')))

// Most examples are servers, which never end. Each one has to reach its last line without an error, and is then killed.
it.each(blocks.map((code) => [code.split('\n').slice(0, 8).join('\n'), code]))(
  '%s\n… runs',
  async (_, code) => {
    const { code: script } = await transform(isolate(code), { loader: 'ts', format: 'esm', target: 'node20' })
    const run = startNode(['--input-type=module', '--eval', `${script}\nconsole.log('the last line')`], {
      SIGNATURE_KEY: 'parcels2026',
    })
    try {
      await run.printed(/the last line/)
    } finally {
      await run.stop('SIGKILL')
    }
  },
)
