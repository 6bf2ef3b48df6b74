import { describe, expect, it } from 'vitest'
import { printable, toPrintableJson } from '../../../src/cli/terminal/io.ts'
import { createFolder, geohook } from '../../helpers/cli.ts'
import { KEY, signatureOf } from '../../helpers/deliver.ts'

const folder = createFolder()
const body = folder.file('body.json', '{}')
const verify = ['verify', body, '--key', KEY, '--signature', signatureOf('{}')]
const ESCAPE = '\u001b['

describe.concurrent('colours', () => {
  it.each<[string, Record<string, string>, boolean, number?]>([
    ['are off when the output is not a terminal', {}, false],
    ['are on with FORCE_COLOR', { FORCE_COLOR: '1' }, true],
    ['are on with FORCE_COLOR and NO_COLOR', { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
    ['are off with NO_COLOR', { NO_COLOR: '1' }, false],
    ['are off with FORCE_COLOR=0', { FORCE_COLOR: '0' }, false],
    ['are off in CI', { CI: 'true' }, false],
    ['are on in a terminal', {}, true, 80],
    ['are off in a terminal with NO_COLOR', { NO_COLOR: '1' }, false, 80],
    ['are off in a terminal with TERM=dumb', { TERM: 'dumb' }, false, 80],
  ])('%s', async (_, env, isOn, columns) => {
    const right = await geohook(verify, { env, columns })
    expect(right.stdout.includes(ESCAPE)).toBe(isOn)
    const wrong = await geohook(['sign', 'nowhere'], { env: { ...env, SIGNATURE_KEY: KEY }, columns })
    expect(wrong.stderr.includes(ESCAPE)).toBe(isOn)
  })

  it('are never in JSON', async () => {
    const { stdout } = await geohook([...verify, '--json'], { env: { FORCE_COLOR: '1' } })
    expect(JSON.parse(stdout)).toEqual({ ok: true, keyIndex: 0 })
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
      const json = toPrintableJson(value, (text) => text, indent)
      expect(json).toMatch(/^[\n\x20-\x7e\u00a0-\u00ff]+$/)
      expect(JSON.parse(json)).toEqual(value)
    }
  })
})
