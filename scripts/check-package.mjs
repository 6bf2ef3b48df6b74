// Packs the package, and uses it as its users do: installed from the tarball, from ESM and from CJS.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const bin = (name) => resolve('node_modules/.bin', name)
const run = (command, args, cwd = '.') => execFileSync(command, args, { cwd, encoding: 'utf8' })

const folder = mkdtempSync(join(tmpdir(), 'geohook-package-'))
try {
  const [{ filename, files, size, version }] = JSON.parse(
    run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]),
  )
  const tarball = join(folder, filename)
  const strangers = files.filter(
    ({ path }) => !/^(dist\/.*\.(js|cjs|d\.ts|d\.cts)|README\.md|LICENSE|package\.json)$/.test(path),
  )
  assert.deepEqual(strangers, [], 'the tarball holds only what users need')
  console.log(`packed ${files.length} files, ${size} bytes`)

  console.log(run(bin('publint'), ['run', tarball, '--strict']).trim())
  // node16: resolution before "exports" is not supported.
  console.log(run(bin('attw'), [tarball, '--profile', 'node16', '--no-emoji', '--format', 'ascii']).trim())

  const consumer = join(folder, 'consumer')
  mkdirSync(consumer)
  writeFileSync(join(consumer, 'package.json'), '{"private":true}')
  run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', tarball], consumer)

  const use = `
    const body = '{"serviceName":"Parcels","events":[{"eventType":"FeaturesCreated"}]}'
    const signature = await geohook.sign({ body, signatureKey: 'k' })
    assert.deepEqual(await geohook.verify({ body, signature, signatureKey: 'k' }), { ok: true, keyIndex: 0 })
    const diagnosis = await geohook.explain({ body: body + '\\n', headers: { 'x-service': signature }, signatureKey: 'k' })
    assert.equal(diagnosis.cause, 'body_trailing_newline')
    const seen = []
    const receiver = geohook.createReceiver({ signatureKey: 'k' }).on('*', (event) => seen.push(event.changeType))
    const request = await testing.createSigner({ signatureKey: 'k' }).sign(testing.createPayload('FeaturesCreated'))
    assert.equal((await receiver.fetch(new Request('http://a.example', request))).status, 200)
    assert.deepEqual(seen, ['FeaturesCreated'])
    assert.throws(() => express.webhook({ signatureKey: '' }), geohook.WebhookError, 'one error class in all entries')
    assert.equal(typeof node.webhook, 'function')
    assert.equal(typeof mock.createMockService().listen, 'function')`
  const names = {
    geohook: 'geohook',
    express: 'geohook/express',
    node: 'geohook/node',
    testing: 'geohook/testing',
    mock: 'geohook/mock',
  }
  const imports = Object.entries(names).map(([name, path]) => `import * as ${name} from '${path}'`)
  const requires = Object.entries(names).map(([name, path]) => `const ${name} = require('${path}')`)
  writeFileSync(
    join(consumer, 'use.mjs'),
    `import assert from 'node:assert/strict'\n${imports.join('\n')}\n${use}\n`,
  )
  writeFileSync(
    join(consumer, 'use.cjs'),
    `const assert = require('node:assert/strict')\n${requires.slice(0, 4).join('\n')}\n` +
      `for (const path of Object.keys(require.cache)) assert.ok(!/node_modules.(express|undici)/.test(path), path)\n` +
      `${requires[4]}\n;(async () => {${use}\n})()\n`,
  )
  writeFileSync(
    join(consumer, 'dual.mjs'),
    `import assert from 'node:assert/strict'
    import { once } from 'node:events'
    import { createServer } from 'node:http'
    import { createRequire } from 'node:module'
    import { createReceiver } from 'geohook'
    const { webhook } = createRequire(import.meta.url)('geohook/node')
    const server = createServer(webhook(createReceiver({ signatureKey: 'k', limit: 10, observer: {} }))).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const body = new ReadableStream({ start(c) { c.enqueue(new Uint8Array(20)); c.close() } })
    const headers = { 'content-type': 'application/json', 'x-service': '0'.repeat(64) }
    const answer = await fetch('http://127.0.0.1:' + server.address().port, { method: 'POST', headers, body, duplex: 'half' })
    assert.equal(answer.status, 413, 'an error from CommonJS is known to a receiver from ESM')
    server.close()
    server.closeAllConnections()`,
  )
  for (const file of ['use.mjs', 'use.cjs', 'dual.mjs']) {
    run(process.execPath, ['--unhandled-rejections=strict', file], consumer)
    console.log(`installed and used: ${file}`)
  }

  const geohook = join(consumer, 'node_modules/.bin/geohook')
  assert.equal(run(geohook, ['--version'], consumer).trim(), version)
  assert.match(run(geohook, ['key'], consumer), /^[0-9a-f]{64}\n$/)
  console.log('installed and used: the command line')
} finally {
  rmSync(folder, { recursive: true, force: true })
}
