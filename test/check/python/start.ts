import { KEY } from '../../helpers/deliver.ts'
import { type Started, startProgram } from '../../helpers/process.ts'

/** Starts a receiver written in Python. */
export async function startPython(
  file: 'receiver.py' | 'flaws.py',
  ...args: string[]
): Promise<{ url: string; observer(id: string): number; stop: Started['stop'] }> {
  const app = startProgram('python3', ['-B', `test/check/python/${file}`, ...args], { SIGNATURE_KEY: KEY })
  const [, url = ''] = await app.printed(/listening on (\S+)/)
  return {
    url,
    observer: (id) => app.stdout.split('\n').filter((line) => line === `handled geohook check ${id}`).length,
    stop: app.stop,
  }
}
