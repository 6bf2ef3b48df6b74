import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { printable, toPrintableJson } from '../../../src/cli/terminal/printable.ts'
import { CLI, createFolder, geohook, startGeohook } from '../../helpers/cli.ts'
import { KEY, signatureOf } from '../../helpers/deliver.ts'
import { send } from '../../helpers/http.ts'

const folder = createFolder()
const body = folder.file('body.json', '{}')
const verify = ['verify', body, '--key', KEY, '--signature', signatureOf('{}')]
const ESCAPE = '\u001b['

describe.concurrent('colours', () => {
  it.each([
    ['are off when the output is not a terminal', {}, false],
    ['are on with FORCE_COLOR', { FORCE_COLOR: '1' }, true],
    ['are on with FORCE_COLOR and NO_COLOR', { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
    ['are off with NO_COLOR', { NO_COLOR: '1' }, false],
    ['are off with FORCE_COLOR=0', { FORCE_COLOR: '0' }, false],
    ['are off in CI', { CI: 'true' }, false],
  ])('%s', async (_, env, isOn) => {
    const right = await geohook(verify, { env })
    expect(right.stdout.includes(ESCAPE)).toBe(isOn)
    const wrong = await geohook(['sign', 'nowhere'], { env: { ...env, SIGNATURE_KEY: KEY } })
    expect(wrong.stderr.includes(ESCAPE)).toBe(isOn)
  })

  it('are never in JSON', async () => {
    const { stdout } = await geohook([...verify, '--json'], { env: { FORCE_COLOR: '1' } })
    expect(JSON.parse(stdout)).toEqual({ ok: true, keyIndex: 0 })
  })
})

describe.concurrent('standard output', () => {
  it('closed by its reader makes a command exit without an error', async () => {
    const child = spawn(process.execPath, [CLI, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.destroy()
    let stderr = ''
    child.stderr.on('data', (text) => (stderr += text))
    await once(child, 'close')
    expect(stderr).toBe('')
  })

  it.runIf(existsSync('/dev/full'))('on a full disk makes a command exit with 2 and an error', async () => {
    const full = openSync('/dev/full', 'w')
    const child = spawn(process.execPath, [CLI, 'key'], { stdio: ['ignore', full, 'pipe'] })
    let stderr = ''
    child.stderr?.on('data', (text) => (stderr += text))
    const [code] = await once(child, 'close')
    closeSync(full)
    expect({ code, stderr }).toEqual({ code: 2, stderr: 'error: cannot write the output: ENOSPC\n' })
  })

  it('closed by its reader makes geohook listen exit without an error', async () => {
    const listener = startGeohook(['listen', '--port', '0', '--key', KEY])
    const [, url = ''] = await listener.printed(/(http:\S+)/)
    listener.child.stdout?.destroy()
    const headers = { 'content-type': 'application/json', 'x-service': signatureOf('{}') }
    expect((await send(url, { headers, body: '{}' })).status).toBe(200)
    await listener.exited
    expect(listener.stderr).toBe('')
  })
})

describe('untrusted text', () => {
  it('has only its control characters and direction marks escaped', () => {
    expect(printable('Flurst\u00fccke \ud83d\ude00 \u65e5\u672c')).toBe(
      'Flurst\u00fccke \ud83d\ude00 \u65e5\u672c',
    )
    expect(printable('a\u001b]0;x\u0007\r\n\u009b\u202e\u2028\ud800')).toBe(
      'a\\u{1b}]0;x\\u{7}\\u{d}\\u{a}\\u{9b}\\u{202e}\\u{2028}\\u{d800}',
    )
  })

  it('is escaped in JSON without changing the parsed value', () => {
    const value = { a: ['\u009b\u202e\u2028\u{e0001}\n', 'Flurst\u00fccke'] }
    for (const indent of [0, 2]) {
      const json = toPrintableJson(value, indent)
      expect(json).toMatch(/^[\n\x20-\x7e\u00a0-\u00ff]+$/)
      expect(JSON.parse(json)).toEqual(value)
    }
  })
})
