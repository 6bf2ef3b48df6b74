// Live updates, with server-sent events.

import {
  base,
  fetchPage,
  find,
  isStart,
  markCurrent,
  PANE_ONLY,
  shownId,
  update,
  updateList,
  updatePane,
} from './page.js'

/** Milliseconds between two updates, so that a burst of changes loads the page once. */
const PAUSE = 300
/** Milliseconds before the script connects again where the browser does not. */
const RETRY = 3000

/** @typedef {'list' | 'pane'} Part */

/** @type {EventSource | undefined} */
let source
let state = ''
let isPaused = false
let isRefreshing = false
let isStale = false
/** The parts to load besides the links and filters around them. @type {Set<Part>} */
const stale = new Set()
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer

/** Connects to the stream of changes. A page with older deliveries stays as it is. */
export function connect() {
  source?.close()
  if (!find('live') || new URLSearchParams(location.search).has('after')) return showState('')
  const opened = new EventSource(`${base}/live`)
  source = opened
  opened.addEventListener('open', () => {
    showState('live')
    refreshSoon(['list', 'pane'], 0) // what happened before the connection
  })
  opened.addEventListener('error', () => {
    showState('not connected')
    if (opened.readyState === EventSource.CLOSED) setTimeout(() => source === opened && connect(), RETRY)
  })
  opened.addEventListener('rows', ({ data }) => {
    const isShown = isStart() || JSON.parse(data).includes(shownId())
    refreshSoon(isShown ? ['list', 'pane'] : ['list'])
  })
  opened.addEventListener('panels', () => refreshSoon(find('panel') ? ['pane'] : []))
}

/** @param {string} text */
function showState(text) {
  state = text
  const live = find('live')
  if (!live) return
  live.textContent = isPaused ? 'paused' : state
  live.classList.toggle('off', isPaused || state !== 'live')
}

/** @param {readonly Part[]} parts @param {number} [delay] in milliseconds */
function refreshSoon(parts, delay = PAUSE) {
  isStale = true
  for (const part of parts) stale.add(part)
  if (isPaused || isRefreshing || (timer !== undefined && delay > 0)) return
  clearTimeout(timer)
  timer = setTimeout(refresh, delay)
}

async function refresh() {
  const [hasList, hasPane] = [stale.has('list'), stale.has('pane')]
  const { href } = location
  stale.clear()
  isStale = false
  timer = undefined
  isRefreshing = true

  /** @param {string} url @param {HeadersInit} [headers] */
  async function load(url, headers) {
    const page = await fetchPage(url, headers)
    if (page && source?.readyState === EventSource.OPEN && state !== 'live') showState('live')
    return href === location.href ? page : undefined
  }

  try {
    if (hasList || !hasPane || isStart()) {
      const page = await load(`${base}/${location.search}`, hasList ? {} : PANE_ONLY)
      if (href !== location.href && hasList) stale.add('list')
      if (!page) return
      if (hasList) updateList(page)
      update(page, ['panels', 'filters'])
      markCurrent()
      if (isStart()) updatePane(page)
    }
    if (!hasPane || isStart()) return
    const page = await load(href, PANE_ONLY)
    if (!page) return
    update(page, ['panels', 'filters'])
    updatePane(page)
  } catch (error) {
    // Without a connection, everything is loaded again after the next one.
    if (error instanceof Error && !(error instanceof TypeError)) showState(error.message)
  } finally {
    isRefreshing = false
    if (isStale || stale.size > 0) refreshSoon([])
  }
}

// A hidden page needs no connection, and browsers allow only six to one server.
document.addEventListener('visibilitychange', () => {
  if (document.hidden) source?.close()
  else connect()
})

/** Stops or starts the updates. What has changed in between is loaded then. @returns true if they are stopped */
export function togglePause() {
  isPaused = !isPaused
  showState(state)
  if (isStale) refreshSoon([], 0)
  return isPaused
}
