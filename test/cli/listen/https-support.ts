import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { startGeohook } from '../../helpers/cli.ts'
import { KEY } from '../../helpers/deliver.ts'
import type { Started } from '../../helpers/process.ts'

/** Creates a folder for the local CA of one test. */
export function createCaFolder(): { path: string; env: Record<string, string>; current: string } {
  const path = mkdtempSync(join(tmpdir(), 'geohook-ca-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return {
    path,
    env: { SIGNATURE_KEY: KEY, GEOHOOK_CA_DIR: path },
    current: join(path, 'current'),
  }
}

/** Starts `geohook listen --https` on a free port, until the test ends. */
export async function listenSecurely(
  args: readonly string[],
  env: Record<string, string>,
): Promise<{ url: string; port: number; listener: Started }> {
  const listener = startGeohook(['listen', '--https', '--port', '0', ...args], { env })
  onTestFinished(async () => void (await listener.stop()))
  const [, url = ''] = await listener.printed(/(https:\/\/[^\s"]+)/)
  return { url, port: Number(new URL(url).port), listener }
}
