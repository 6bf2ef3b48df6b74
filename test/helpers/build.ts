import { execFileSync } from 'node:child_process'

/** Builds the package once before all tests, because some of them run the built files. */
export function setup(): void {
  execFileSync(process.execPath, ['node_modules/tsup/dist/cli-default.js', '--no-dts', '--silent'], {
    stdio: 'inherit',
  })
}
