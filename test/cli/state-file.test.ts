import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createStateFile } from '../../src/cli/state-file.ts'
import { createFolder } from '../helpers/cli.ts'

const folder = createFolder()
const read = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'))

describe('a state file', () => {
  it('is nothing until something was saved', async () => {
    const file = createStateFile(join(folder.path, 'none.json'))
    expect(await file.load()).toBeUndefined()
    await file.save({ a: 1 })
    expect(await file.load()).toEqual({ a: 1 })
  })

  it('resolves a save only when its value, or a later one, is in the file', async () => {
    const path = join(folder.path, 'many.json')
    const file = createStateFile(path)
    const saves = Array.from({ length: 200 }, async (_, number) => {
      // Some come while a write is under way, some while none is.
      await new Promise((resolve) => setTimeout(resolve, number % 20))
      await file.save({ number })
      return (read(path) as { number: number }).number
    })
    await Promise.all(saves)
    let previous: Promise<void> | undefined
    for (let number = 0; number < 50; number++) {
      const save = file.save({ number })
      previous = save.then(() =>
        expect((read(path) as { number: number }).number).toBeGreaterThanOrEqual(number),
      )
      if (number % 7 === 0) await previous
    }
    await previous
    expect(read(path)).toEqual({ number: 49 })
  })

  it('is whole at every moment, also while it is written', async () => {
    const path = join(folder.path, 'large.json')
    const file = createStateFile(path)
    const text = 'x'.repeat(4_000_000)
    await file.save({ number: 0, text })
    let isDone = false
    let looks = 0
    const saved = file.save({ number: 1, text }).then(() => {
      isDone = true
    })
    while (!isDone) {
      expect(read(path)).toEqual({ number: expect.any(Number), text })
      looks++
      await new Promise((resolve) => setImmediate(resolve))
    }
    await saved
    expect(looks).toBeGreaterThan(1)
    expect(read(path)).toEqual({ number: 1, text })
  })

  it('is for its owner only, and leaves nothing beside it', async () => {
    const path = join(folder.path, 'private', 'state.json')
    mkdirSync(join(folder.path, 'private'))
    // One that a process left when it died.
    writeFileSync(`${path}.tmp`, '{"half":')
    chmodSync(`${path}.tmp`, 0o644)
    await createStateFile(path).save({ whole: true })
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(join(folder.path, 'private'))).toEqual(['state.json'])
  })

  it('that is damaged is an error, and stays as it is', async () => {
    const path = folder.file('damaged.json', '{"webhooks": [')
    await expect(createStateFile(path).load()).rejects.toMatchObject({ exitCode: 2 })
    expect(readFileSync(path, 'utf8')).toBe('{"webhooks": [')
  })

  it('goes on after a write that failed', async () => {
    const path = join(folder.path, 'later', 'state.json')
    const file = createStateFile(path)
    await expect(file.save({ a: 1 })).rejects.toMatchObject({ exitCode: 2 })
    mkdirSync(join(folder.path, 'later'))
    await file.save({ a: 2 })
    expect(read(path)).toEqual({ a: 2 })
  })
})
