/** The box routes as MCP tools: exactly those of the specification's table. */
import type { RouteTool } from "../frame/routes/declare/route.ts"

const OF_BOX = { box: "id" }
const READS = { readOnlyHint: true, destructiveHint: false }
const CHANGES = { readOnlyHint: false, destructiveHint: false }
const DESTROYS = { readOnlyHint: false, destructiveHint: true }

export const BOX_TOOLS = {
  list_boxes: {
    name: "list_boxes",
    title: "List boxes",
    description:
      "Lists your boxes, newest first, with their status, links and cost. Stopped boxes stay listed until they are deleted.",
    arguments: { query: ["all"] },
    annotations: READS,
  },
  start_box: {
    name: "start_box",
    title: "Start a box",
    description:
      "Starts a Linux machine with the company's repository at /workspace/repo on a branch. It is charged by the started minute until it stops: by stop_box, by its limits, or when idle. It answers immediately with status `starting`; call get_box until it is `running`, usually within a few seconds.",
    arguments: { body: ["size", "branch", "maxMinutes", "budget", "idleMinutes", "label"] },
    annotations: CHANGES,
  },
  get_box: {
    name: "get_box",
    title: "Look at a box",
    description: "Reads a box: its status, why it stopped, its preview links, and its cost so far.",
    arguments: { path: OF_BOX },
    annotations: READS,
  },
  run_command: {
    name: "run_command",
    title: "Run a command",
    description:
      "Runs a shell command (bash) in a box and waits for it: exit code, stdout and stderr, each cut at 200,000 characters. Many clients give up after 60 seconds: for servers, watchers and long builds use start_process and process_logs. After timeoutMs everything the command started is ended, and the exit code is 124.",
    arguments: { path: OF_BOX, body: ["command", "cwd", "timeoutMs"] },
    annotations: DESTROYS,
  },
  start_process: {
    name: "start_process",
    title: "Start a background command",
    description:
      "Starts a shell command in a box and answers immediately. Read its output with process_logs. A box with only background commands counts as idle.",
    arguments: { path: OF_BOX, body: ["command", "cwd"] },
    annotations: CHANGES,
  },
  list_processes: {
    name: "list_processes",
    title: "List background commands",
    description: "Lists the background commands of a box with their status and exit code.",
    arguments: { path: OF_BOX },
    annotations: READS,
  },
  process_logs: {
    name: "process_logs",
    title: "Read a background command's output",
    description:
      "Reads the output of a background command so far; a long output keeps its newest part.",
    arguments: { path: { ...OF_BOX, process: "process" } },
    annotations: READS,
  },
  stop_process: {
    name: "stop_process",
    title: "Stop a background command",
    description: "Ends a background command and the processes it started.",
    arguments: { path: { ...OF_BOX, process: "process" } },
    annotations: DESTROYS,
  },
  list_files: {
    name: "list_files",
    title: "List files",
    description: "Lists a folder of a box, by default the repository's; hidden files are left out.",
    arguments: { path: OF_BOX, query: ["path"] },
    annotations: READS,
  },
  read_file: {
    name: "read_file",
    title: "Read a file",
    description:
      "Reads a UTF-8 text file of a box; the path is absolute, or relative to the repository. Read other files with run_command, for example `base64 FILE`.",
    arguments: { path: OF_BOX, query: ["path"] },
    annotations: READS,
  },
  write_file: {
    name: "write_file",
    title: "Write a file",
    description:
      "Creates or replaces a file in a box, with missing folders. The path is absolute, or relative to the repository.",
    arguments: { path: OF_BOX, body: ["path", "content"] },
    annotations: CHANGES,
  },
  delete_file: {
    name: "delete_file",
    title: "Delete a file",
    description: "Deletes a file of a box. Delete folders with run_command.",
    arguments: { path: OF_BOX, query: ["path"] },
    annotations: DESTROYS,
  },
  open_preview: {
    name: "open_preview",
    title: "Open a preview link",
    description:
      "Opens a link to a port of the box. Anyone with the link can use it until the box stops. An open port keeps its link.",
    arguments: { path: OF_BOX, body: ["port"] },
    annotations: CHANGES,
  },
  push: {
    name: "push",
    title: "Commit and push",
    description:
      "Commits everything in the repository of the box and pushes its branch, through the checks of the code server. If they refuse it, `pushed` is false and `output` says why. A box has no remote: if another person pushed the branch meanwhile, start a new box on it and repeat the changes there.",
    arguments: { path: OF_BOX, body: ["message"] },
    annotations: CHANGES,
  },
  box_activity: {
    name: "box_activity",
    title: "Read a box's activity",
    description:
      "Lists the actions in a box, newest first, each with its result and the key that did it.",
    arguments: { path: OF_BOX },
    annotations: READS,
  },
  stop_box: {
    name: "stop_box",
    title: "Stop a box",
    description: "Stops a box now. Its files are lost, so push first. It costs nothing afterwards.",
    arguments: { path: OF_BOX },
    annotations: DESTROYS,
  },
} as const satisfies Readonly<Record<string, RouteTool>>
