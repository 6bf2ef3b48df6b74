import { listenHost } from '../mounts/host.ts'

/** Serves a function as a program of its own: says where, and ends when it is told to. */
export async function serve(invoke: Parameters<typeof listenHost>[0], path: string): Promise<void> {
  const { url, close } = await listenHost(invoke)
  console.log(`listening on ${new URL(path, url)}`)
  process.once('SIGTERM', close)
}
