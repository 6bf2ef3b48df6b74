import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createFolder, geohook } from '../../helpers/cli.ts'

const folder = createFolder()

describe.concurrent('geohook key', () => {
  it('prints a new key of 32 random bytes in hex', async () => {
    const keys = await Promise.all([geohook(['key']), geohook(['key'])])
    for (const { code, stdout, stderr } of keys) {
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toMatch(/^[0-9a-f]{64}\n$/)
    }
    expect(keys[0].stdout).not.toBe(keys[1].stdout)
  })

  it('accepts --bytes from 16 to 512', async () => {
    expect((await geohook(['key', '--bytes', '512'])).stdout).toMatch(/^[0-9a-f]{1024}\n$/)
    expect(JSON.parse((await geohook(['key', '--bytes', '16', '--json'])).stdout)).toEqual({
      signatureKey: expect.stringMatching(/^[0-9a-f]{32}$/),
    })
    for (const bytes of ['15', '513', 'x', '-1', '1e2', '']) {
      expect(await geohook(['key', '--bytes', bytes])).toMatchObject({ code: 2, stdout: '' })
    }
  })

  it('writes the key to a new file that only its owner can read with --out, and does not print it', async () => {
    const path = join(folder.path, 'new key.txt')
    const { code, stdout, stderr } = await geohook(['key', '--out', path])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const written = readFileSync(path, 'utf8')
    expect(written).toMatch(/^[0-9a-f]{64}\n$/)
    expect(stdout).toBe(`wrote a new key to ${path}\n`)
    expect(statSync(path).mode & 0o777).toBe(0o600)

    const again = await geohook(['key', '--out', path])
    expect(again).toMatchObject({ code: 2, stdout: '' })
    expect(again.stderr).toContain('already exists')
    expect(readFileSync(path, 'utf8')).toBe(written)
    expect(await geohook(['sign', '-', '--key-file', path], { stdin: 'x' })).toMatchObject({ code: 0 })
  })

  it('names the file that it cannot write', async () => {
    const { code, stderr } = await geohook(['key', '--out', join(folder.path, 'no', 'key.txt')])
    expect(code).toBe(2)
    expect(stderr).toMatch(/^error: cannot write .*key\.txt: ENOENT\n/)
  })
})
