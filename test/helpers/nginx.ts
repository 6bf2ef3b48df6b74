import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { createFolder } from './folder.ts'
import { findPort } from './port.ts'
import { startProgram } from './process.ts'

/** Finds nginx in PATH or in /usr/sbin. Debian installs it in /usr/sbin, which only root has in PATH. */
export const findNginx = (): string | undefined =>
  [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
    .map((folder) => join(folder, 'nginx'))
    .find((file) => existsSync(file))

export interface Nginx {
  url: string
  close(): Promise<void>
}

/**
 * Starts nginx on 127.0.0.1, as a reverse proxy for `upstream`.
 *
 * @param configure returns the configuration for a port. Default: default proxy settings
 */
export async function startNginx(
  program: string,
  upstream: string,
  configure: (port: number) => string = (port) => nginxConfig(port, `location / { proxy_pass ${upstream}; }`),
): Promise<Nginx> {
  const folder = createFolder()
  const port = await findPort()
  mkdirSync(folder.fileIn('logs'))
  writeFileSync(folder.fileIn('nginx.conf'), configure(port))
  const nginx = startProgram(program, ['-p', folder.path, '-c', 'nginx.conf', '-e', 'stderr'])
  const url = `http://127.0.0.1:${port}`
  while (!(await fetch(url).catch(() => undefined))) {
    if (nginx.child.exitCode !== null) throw new Error(`nginx ended:\n${nginx.output}`)
    await setTimeout(20)
  }
  return {
    url,
    async close() {
      await nginx.stop()
      await folder.remove()
    },
  }
}

/**
 * Returns a configuration for one server.
 *
 * @param server the content of its `server` block, without `listen`
 * @param http the content of the `http` block before the server, such as an `upstream` block
 */
export function nginxConfig(port: number, server: string, http = ''): string {
  // If root starts nginx, its worker processes run as an unprivileged user by default, which cannot write to the folder.
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${name};`,
  )
  return `daemon off; ${user} worker_processes 1; pid nginx.pid; error_log stderr warn;
    events {}
    http {
      access_log off;
      ${folders.join(' ')}
      client_max_body_size 100m;
      ${http}
      server { listen 127.0.0.1:${port}; ${server} }
    }`
}
