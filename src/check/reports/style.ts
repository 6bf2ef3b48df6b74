import { Html } from '../../inspector/html/template.ts'

/** The style of the HTML report. All pairs of colours have a contrast of 4.5 or more. */
export const STYLE: Html = new Html(`
:root { color-scheme: light dark; --good: #14632f; --bad: #b3160c; --open: #7a4a00; --quiet: #595959; --line: #c8c8c8 }
@media (prefers-color-scheme: dark) {
  :root { --good: #7fd99a; --bad: #ff9d94; --open: #f0c060; --quiet: #b5b5b5; --line: #555 }
}
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 }
main { max-width: 60rem; margin: 0 auto; padding: 1rem }
h1, summary { overflow-wrap: anywhere }
details { border-bottom: 1px solid var(--line); padding: .3rem 0 }
summary { cursor: pointer }
dt { font-weight: 600 }
dd { margin: 0 0 .4rem 1rem; overflow-wrap: anywhere }
.level, .skipped { color: var(--quiet) }
.passed, .conforms { color: var(--good) }
.failed, .fails, .unreachable { color: var(--bad) }
.undecided, .tolerated { color: var(--open) }
p.conforms, p.fails, p.undecided, p.unreachable { font-weight: 600 }
`)
