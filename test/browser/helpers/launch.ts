import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

/** The distribution's package; another one can be given. */
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium'

const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // One process for all pages: starting another one for each navigation takes longer than the page itself.
  '--disable-site-isolation-trials',
  '--disable-features=IsolateOrigins,site-per-process',
  '--renderer-process-limit=1',
  // Without coloured edges, pictures are smaller, and the same on every screen.
  '--disable-lcd-text',
]

/** Starts the browser of a worker. It is closed when the process ends. */
export function launch(): Promise<Browser> {
  if (!existsSync(CHROMIUM))
    throw new Error(`There is no ${CHROMIUM}. Install Chromium, or set the environment variable CHROMIUM.`)
  return chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS })
}
