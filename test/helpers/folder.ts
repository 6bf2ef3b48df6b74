import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Creates an empty folder for one test. */
export function createFolder(): { path: string; fileIn(name: string): string; remove(): Promise<void> } {
  const path = mkdtempSync(join(tmpdir(), 'geohook-'))
  return {
    path,
    fileIn: (name) => join(path, name),
    async remove() {
      rmSync(path, { recursive: true, force: true })
    },
  }
}
