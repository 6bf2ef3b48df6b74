import { execFileSync } from 'node:child_process'
import { describe, it } from 'vitest'
import { createFolder } from './folder.ts'

/** A small tmpfs that a test can fill up or make read-only. */
export interface Disk {
  path: string
  /** Makes the disk read-only or writable. `ro` fails while a file is open for writing. */
  remount(mode: 'ro' | 'rw'): void
  remove(): Promise<void>
}

const run = (program: string, ...args: string[]): void => {
  execFileSync(program, args, { stdio: 'pipe' })
}

/** @param megabytes size of the disk; 0 creates a disk without a limit, which reports a size of 0 */
export function createDisk(megabytes: number): Disk {
  const { path, remove } = createFolder()
  run('mount', '-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path)
  return {
    path,
    remount: (mode) => run('mount', '-o', `remount,${mode}`, path),
    async remove() {
      run('umount', path)
      await remove()
    },
  }
}

/** Runs tests that need a separate disk. If mounting a disk fails, skips them, or fails with `CI=true`. */
export async function describeWithDisks(suite: () => void): Promise<void> {
  try {
    await createDisk(1).remove()
  } catch (cause) {
    if (process.env.CI === 'true') {
      it('mounts a tmpfs', () => {
        throw new Error('tests of a full disk need root to mount a tmpfs', { cause })
      })
      return
    }
    process.stderr.write('SKIPPED: cannot mount a tmpfs. Run these tests as root on Linux.\n')
    describe.skip('with a separate disk', () => {
      it('needs root', () => {})
    })
    return
  }
  suite()
}
