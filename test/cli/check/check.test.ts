import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createReceiver } from 'geohook'
import { SCENARIOS } from 'geohook/check'
import { createMemoryDuplicates } from 'geohook/inbox'
import { webhook } from 'geohook/node'
import { describe, expect, it } from 'vitest'
import { createFolder, geohook } from '../../helpers/cli.ts'
import { KEY } from '../../helpers/deliver.ts'
import { serve } from '../../helpers/served.ts'
import { unusedUrl } from '../../helpers/target.ts'

const env = { SIGNATURE_KEY: KEY }

/**
 * A receiver that conforms and, at /count, the number of the deliveries that it has handled. `handle` gets the name of
 * each delivery.
 */
function conforming(handle: (name?: string) => void = () => {}): RequestListener {
  const names: (string | undefined)[] = []
  const receiver = createReceiver({
    signatureKey: KEY,
    observer: {},
    bodyTimeout: 3_000,
    duplicates: createMemoryDuplicates(),
  }).on('*', ({ webhook: { name } }) => {
    handle(name)
    names.push(name)
  })
  const receive = webhook(receiver)
  return (req, res) => {
    const { pathname, searchParams } = new URL(req.url ?? '/', 'http://localhost')
    const count = names.filter((name) => name?.includes(searchParams.get('id') ?? '')).length
    if (pathname === '/count') res.end(String(count))
    else if (pathname === '/count.json') res.end(JSON.stringify({ count }))
    else if (pathname === '/count.txt') res.end('many')
    else receive(req, res)
  }
}

const acceptsAll: RequestListener = (req, res) => void req.resume().on('end', () => res.end())

describe('the exit code', () => {
  it('is 0 for a receiver that conforms', async () => {
    const { url } = await serve(conforming())
    const { code, stdout, stderr } = await geohook(['check', url, '--only', 'signature-missing,methods'], {
      env,
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('  ✓ signature-missing  refuses a delivery without the signature header\n')
    expect(stdout).toMatch(/\nThe receiver conforms: \d+ of \d+ scenarios passed, \d+ were skipped\.\n$/)
    expect(stdout).not.toContain(KEY)
  })

  it('is 1 for one that fails a must, with the reason, the evidence and the fix', async () => {
    const { url } = await serve(acceptsAll)
    const { code, stdout } = await geohook(['check', url, '--only', 'signature-missing'], { env })
    expect(code).toBe(1)
    expect(stdout).toMatch(
      / {2}✗ signature-missing .*\n {6}sent a delivery without the header: 200 in \d+ ms\n {6}why: .*\n {6}fix: /,
    )
  })

  it('is 1 for a failed should only with --strict', async () => {
    const { url } = await serve((req, res) => {
      if (req.method === 'GET') res.end('It works!')
      else conforming()(req, res)
    })
    const args = ['check', url, '--only', 'get-request']
    expect((await geohook(args, { env })).code).toBe(0)
    expect((await geohook([...args, '--strict'], { env })).code).toBe(1)
  })

  it('is 2 without a key, without a URL, and for an unknown scenario', async () => {
    const url = 'http://127.0.0.1:9/'
    expect((await geohook(['check', url])).code).toBe(2)
    expect(await geohook(['check'], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the URL of the receiver is missing'),
    })
    expect(await geohook(['check', url, '--header', 'x-a: 1', '--header', 'X-A: 2'], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--header x-a is given twice'),
    })
    const { code, stderr } = await geohook(['check', url, '--only', 'body-altred'], { env })
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Did you mean body-altered?'),
    })
  })

  it('is 3 for an unreachable receiver', async () => {
    const url = await unusedUrl()
    const { code, stdout } = await geohook(['check', url], { env })
    expect({ code, stdout }).toEqual({ code: 3, stdout: `cannot reach ${url}: connection refused\n` })
  })

  it('is 4 if no must failed, but one is undecided', async () => {
    const { url } = await serve(conforming())
    const args = ['check', url, '--side-effects', '--only', 'retry-after-lost-response']
    const { code, stdout } = await geohook(args, { env })
    expect(code).toBe(4)
    expect(stdout).toContain('cannot be known without an observer')
  })
})

describe('the observer', () => {
  const args = ['--side-effects', '--only', 'duplicate-in-turn,retry-after-lost-response']

  it.each(['/count', '/count?id={id}', '/count.json?id={id}'])('%s counts deliveries', async (path) => {
    const { url } = await serve(conforming())
    const { code, stdout } = await geohook(['check', url, ...args, '--observer', url + path], { env })
    expect(stdout).toContain('✓ duplicate-in-turn')
    expect(code).toBe(0)
  })

  it('can be a command, which gets the id of the delivery', async () => {
    const file = createFolder().file('handled', '')
    const { url } = await serve(conforming((name) => appendFileSync(file, `${name}\n`)))
    // Without grep, because the machine may have no program but a shell.
    const command = `n=0
      while read -r line; do case $line in *"$GEOHOOK_CHECK_ID"*) n=$((n+1));; esac; done <'${file}'
      echo $n`
    const { code, stdout } = await geohook(['check', url, ...args, '--observer-command', command], { env })
    expect(stdout).toContain('✓ retry-after-lost-response')
    expect(code).toBe(0)
  })

  it.each([
    [['--observer', '/count.txt'], 'the observer returned neither a number nor {"count": n}'],
    [['--observer-command', 'exit 7'], 'the observer command failed: exit code 7'],
    [['--observer-command', 'kill -9 $$'], 'the observer command failed: SIGKILL'],
    [['--observer-command', 'while :; do echo 1; done'], 'the observer command failed: it printed too much'],
  ])('that fails (%j) makes scenarios undecided', async ([option = '', value = ''], message) => {
    const { url } = await serve(conforming())
    const observer = value.startsWith('/') ? url + value : value
    const { code, stdout } = await geohook(['check', url, ...args, option, observer], { env })
    expect(code).toBe(4)
    expect(stdout).toContain(message)
  })

  it('shows whether forgeries were handled, also without --side-effects', async () => {
    const { url } = await serve(conforming())
    const { code, stdout } = await geohook(
      ['check', url, '--only', 'forged-not-handled', '--observer', `${url}/count`],
      { env },
    )
    expect(stdout).toContain('✓ forged-not-handled')
    expect(code).toBe(0)
  })
})

it('makes the handler fail with a command', async () => {
  const folder = createFolder()
  const file = `${folder.path}/fails`
  const handle = (): void => {
    if (existsSync(file) && readFileSync(file, 'utf8') === '1') throw new Error('the handler fails')
  }
  const { url } = await serve(conforming(handle))
  const command = `printf %s "$GEOHOOK_CHECK_FAIL" > '${file}'`
  const args = ['--side-effects', '--only', 'handler-failure', '--observer', `${url}/count?id={id}`]
  const { code, stdout } = await geohook(['check', url, ...args, '--fail-command', command], { env })
  expect(stdout).toContain('✓ handler-failure')
  expect(code).toBe(0)
})

it('compares a tenant with an unknown one', async () => {
  const receive = conforming()
  const { url } = await serve((req, res) => {
    if (req.url === '/unknown') res.writeHead(404).end()
    else receive(req, res)
  })
  const args = ['--strict', '--only', 'unknown-tenant', '--unknown-url', `${url}/unknown`]
  const { code, stdout } = await geohook(['check', `${url}/hook`, ...args], { env })
  expect(stdout).toContain('to the unknown tenant: 404 in')
  expect(code).toBe(1)
})

it('writes reports by the ending of their names', async () => {
  const folder = createFolder()
  const { url } = await serve(conforming())
  const files = ['xml', 'html', 'json'].map((ending) => `${folder.path}/check.${ending}`)
  const reports = files.flatMap((file) => ['--report', file])
  const { code } = await geohook(['check', url, '--only', 'signature-missing', ...reports], { env })
  expect(code).toBe(0)
  const texts = files.map((file) => readFileSync(file, 'utf8'))
  expect(texts.map((text) => text.slice(0, 9))).toEqual(['<?xml ver', '<!doctype', '{\n  "form'])
  for (const text of texts) expect(text).not.toContain(KEY)
})

it('reports a file that cannot be written, after the result', async () => {
  const { url } = await serve(conforming())
  const args = ['check', url, '--only', 'signature-missing', '--report', '/nowhere/check.xml']
  expect(await geohook(args, { env })).toMatchObject({
    code: 2,
    stdout: expect.stringContaining('✓ signature-missing'),
    stderr: expect.stringContaining('cannot write /nowhere/check.xml: no such file'),
  })
})

it.each([
  ['json', '{'],
  ['junit', '<?xml'],
  ['html', '<!doctype html>'],
])('prints %s', async (format, start) => {
  const { url } = await serve(conforming())
  const { stdout } = await geohook(['check', url, '--only', 'methods', '--format', format], { env })
  expect(stdout.startsWith(start)).toBe(true)
})

it('acts as other senders', async () => {
  const receiver = createReceiver({ signatureKey: KEY, profile: 'arcgis', observer: {} }).on('*', () => {})
  const { url } = await serve(webhook(receiver))
  const args = ['check', url, '--only', 'handshake', '--profile', 'arcgis']
  const { code, stdout } = await geohook(args, { env })
  expect(stdout).toContain('✓ handshake-payload-token')
  expect(code).toBe(0)
})

it('lists all scenarios without a URL or a key', async () => {
  const { stdout } = await geohook(['check', '--list'])
  expect(stdout.trimEnd().split('\n').length).toBe(SCENARIOS.length + 1)
  const { stdout: json } = await geohook(['check', '--list', '--json'])
  expect(JSON.parse(json)).toEqual({ scenarios: SCENARIOS })
})

it('never prints the key, even if the receiver sends it', async () => {
  const server = createServer(
    (req, res) => void req.resume().on('end', () => res.writeHead(401).end(`not ${KEY}`)),
  )
  const { url } = await serve((req, res) => server.emit('request', req, res))
  for (const format of ['text', 'json', 'junit', 'html']) {
    const { stdout, stderr } = await geohook(['check', url, '--only', 'methods', '--format', format], { env })
    expect(stdout + stderr).not.toContain(KEY)
    expect(stdout).toContain('***')
  }
})
