import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { openStateFile, type StateFile } from '../../../src/cli/mock/state-file.ts'
import { createFolder, newIo, startProcess } from '../../helpers/cli.ts'

const folder = createFolder()
const opened: StateFile[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((file) => file.release()))
})

async function open(path: string): Promise<StateFile> {
  const file = await openStateFile(newIo(), path)
  opened.push(file)
  return file
}

const read = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'))

describe('a state file', () => {
  it('does not exist until the first save', async () => {
    const path = join(folder.path, 'none.json')
    const file = await open(path)
    expect(file.content).toBeUndefined()
    await file.save({ a: 1 })
    await file.release()
    expect((await open(path)).content).toEqual({ a: 1 })
  })

  it('resolves a save only when its value, or a later one, is in the file', async () => {
    const path = join(folder.path, 'many.json')
    const file = await open(path)
    const saves = Array.from({ length: 200 }, async (_, number) => {
      // With these delays, some saves start during a write, and others between writes.
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

  it('contains complete JSON at any time during a save', async () => {
    const path = join(folder.path, 'large.json')
    const file = await open(path)
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

  it('does not change other files in its folder', async () => {
    const path = join(folder.path, 'mine', 'state.json')
    mkdirSync(join(folder.path, 'mine'))
    writeFileSync(`${path}.tmp`, 'mine')
    const file = await open(path)
    await file.save({ whole: true })
    await file.release()
    expect(readFileSync(`${path}.tmp`, 'utf8')).toBe('mine')
  })

  it('is readable only by its owner, and the only file in its folder once it is released', async () => {
    const path = join(folder.path, 'private', 'state.json')
    mkdirSync(join(folder.path, 'private'))
    // Create the temporary file that a killed process leaves behind.
    writeFileSync(`${path}-geohook-part`, '{"half":')
    chmodSync(`${path}-geohook-part`, 0o644)
    const file = await open(path)
    await file.save({ whole: true })
    await file.release()
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(join(folder.path, 'private'))).toEqual(['state.json'])
  })

  it('is rejected and not changed if it is not valid JSON', async () => {
    const path = folder.file('damaged.json', '{"webhooks": [')
    await expect(open(path)).rejects.toMatchObject({ exitCode: 2 })
    expect(readFileSync(path, 'utf8')).toBe('{"webhooks": [')
    expect(readdirSync(folder.path).filter((name) => name.endsWith('.lock'))).toEqual([])
  })

  it('can be saved again after a failed write', async () => {
    const later = join(folder.path, 'later')
    mkdirSync(later)
    const path = join(later, 'state.json')
    const file = await open(path)
    rmSync(later, { recursive: true })
    await expect(file.save({ a: 1 })).rejects.toMatchObject({ exitCode: 2 })
    mkdirSync(later)
    await file.save({ a: 2 })
    expect(read(path)).toEqual({ a: 2 })
  })

  // `lock.long.ts` lets several processes open a file at the same time.
  it('is locked until its process releases it or dies', async () => {
    const path = join(folder.path, 'shared.json')
    const other = startProcess(['mock', '--port', '0', '--state', path])
    await other.printed(/mock service on/)
    await expect(open(path)).rejects.toMatchObject({
      exitCode: 2,
      message: `${path} is in use by process ${other.child.pid}`,
    })
    await other.stop('SIGKILL')
    await (await open(path)).save({ a: 1 })
    expect(read(path)).toEqual({ a: 1 })
  })

  it('is not locked by lock files of other state files or of dead processes', async () => {
    const locks = join(folder.path, 'locks')
    mkdirSync(locks)
    const uuid = '00000000-0000-4000-8000-000000000000'
    const others = [
      `b.json.${process.ppid}-${uuid}.lock`,
      `a.json.b.${process.ppid}-${uuid}.lock`,
      'a.json.lock',
    ]
    for (const name of [...others, `a.json.4194305-${uuid}.lock`]) writeFileSync(join(locks, name), '')
    const file = await open(join(locks, 'a.json'))
    await file.release()
    expect(readdirSync(locks).sort()).toEqual(others.sort())
  })

  it('is saved to the target of a symbolic link, but its temporary file never is', async () => {
    const real = folder.file('real.json', '{}')
    const victim = folder.file('victim.txt', 'mine')
    const link = join(folder.path, 'link.json')
    symlinkSync(real, link)
    symlinkSync(victim, `${real}-geohook-part`)
    await (await open(link)).save({ a: 1 })
    expect([read(real), readFileSync(victim, 'utf8')]).toEqual([{ a: 1 }, 'mine'])
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
  })
})
