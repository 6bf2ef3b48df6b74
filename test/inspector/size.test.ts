import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { createInspector } from '../../src/inspector/index.ts'
import { createFake } from '../browser/helpers/fake-source.ts'

/** Bytes after gzip, of everything that the browser loads for a page without deliveries. */
const LIMIT = 25_000

async function load(path: string, count = 0): Promise<string> {
  const handle = createInspector(createFake({ count }), { authorize: () => true })
  const response = await handle.fetch(new Request(`http://127.0.0.1${path}`))
  expect(response.status).toBe(200)
  return response.text()
}

/** The modules that a script imports, and those that they import. */
async function modulesOf(path: string, found = new Set<string>()): Promise<Set<string>> {
  if (found.has(path)) return found
  found.add(path)
  const text = await load(path)
  for (const [, name] of text.matchAll(/^(?:import|\}) .*'\.\/([\w-]+\.js)'$/gm))
    await modulesOf(`/assets/${name}`, found)
  return found
}

it('a page with its script, style and icon is at most 25 KB in all', async () => {
  const page = await load('/')
  const linked = [...page.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path]) => path!)
  const scripts = await modulesOf('/assets/inspector.js')
  expect(scripts.size).toBeGreaterThan(3)
  const paths = new Set(['/', ...linked, ...scripts])
  let size = 0
  for (const path of paths) size += gzipSync(await load(path), { level: 6 }).length
  console.log(`The inspector's page: ${size} bytes after gzip`)
  expect(size).toBeLessThanOrEqual(LIMIT)
})

it('no page refers to anything outside of the inspector', async () => {
  for (const path of ['/', '/webhooks', '/webhooks/create', '/clock']) {
    const page = await load(path, 20)
    const urls = [...page.matchAll(/\s(?:href|src|action|srcset|data|poster)="([^"]*)"/g)].map(
      ([, url]) => url,
    )
    expect(urls.length).toBeGreaterThan(5)
    expect(urls.filter((url) => !/^(\/(?!\/)|#)/.test(url!))).toEqual([])
  }
  expect(await load('/assets/inspector.css')).not.toMatch(/url\(|@import/)
})
