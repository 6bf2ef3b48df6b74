import { rmSync, writeFileSync } from 'node:fs'
import { transform } from 'esbuild'
import { afterAll, expect, it } from 'vitest'
import { createFolder } from './helpers/folder.ts'
import { startNode } from './helpers/process.ts'
import { blocks, blocksIn, examples, isEndless, nodeArguments, root } from './helpers/readme.ts'

const folder = createFolder()
afterAll(folder.remove)

const keyring = folder.fileIn('keys.json')
writeFileSync(keyring, '{"keys":[{"id":"2026-11","key":"parcels2026"}]}')

/** Inserts free ports, and files in a temporary folder. */
const isolate = (code: string): string =>
  code
    .replace(/\b[34]000\b|\b3001\b/g, '0')
    .replaceAll("'inbox.db'", JSON.stringify(folder.fileIn('inbox.db')))
    .replaceAll("'/run/secrets/keys.json'", JSON.stringify(keyring))

/** What the JavaScript fragments of docs/performance.md leave out, by their first words. */
const BEFORE: Record<string, string> = {
  '// verify:': `
    import { createHmac, timingSafeEqual } from 'node:crypto'
    const [body, key, encoding] = [Buffer.from('{}'), 'parcels2026', 'hex']
    const signature = createHmac('sha256', key).update(body).digest(encoding)`,
  '// http:': `
    import { createServer } from 'node:http'
    import express from 'express'
    const app = express()`,
}
const fragments = blocksIn('js').map((code) => {
  const [before] = Object.entries(BEFORE).filter(([words]) => code.startsWith(words))
  return `${before?.[1] ?? ''}\n${code}`
})

const titled = (code: string): [string, string] => [code.trim().split('\n').slice(0, 8).join('\n'), code]
const isTest = (code: string): boolean => code.includes("from 'vitest'")
const programs = [...blocks.filter((code) => !isTest(code)), ...examples.filter(isEndless), ...fragments]

// Most of them are servers, which never end. Each one has to reach its last line without an error, and is then killed.
it.concurrent.each(programs.map(titled))('%s\n… runs', async (_, code) => {
  const { code: script } = await transform(isolate(code), { loader: 'ts', format: 'esm', target: 'node20' })
  const run = startNode(nodeArguments(`${script}\nconsole.log('the last line')`), {
    SIGNATURE_KEY: 'parcels2026',
    PASSWORD: 'pw-kim',
  })
  try {
    await run.printed(/the last line/)
  } finally {
    await run.stop('SIGKILL')
  }
})

// Tests in the docs become tests of this file.
for (const [index, code] of blocks.filter(isTest).entries()) {
  const file = `${root}test/docs-test-${index}.ts`
  writeFileSync(file, code)
  afterAll(() => rmSync(file))
  await import(file)
}

it.each(blocksIn('json').map(titled))('%s\n… is JSON', (_, text) => {
  for (const document of text.trim().split(/\n(?=[[{])/)) expect(() => JSON.parse(document)).not.toThrow()
})
