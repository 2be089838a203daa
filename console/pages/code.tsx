import { Select } from "@mantine/core"
import { useState } from "react"
import type { PushList, Ref, RepositoryShown } from "../api/code-answers.ts"
import { useAnswer, useMay } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import { Action } from "../parts/action.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { Download } from "../parts/download.tsx"
import { Empty } from "../parts/empty.tsx"
import { Facts } from "../parts/facts.tsx"
import { useFilters } from "../parts/filters.ts"
import { Id } from "../parts/id.tsx"
import { Loaded } from "../parts/loaded.tsx"
import { NotYours } from "../parts/not-yours.tsx"
import { Page, Section } from "../parts/page.tsx"
import { PushTable } from "../parts/push-table.tsx"
import { RefusedCode } from "../parts/refused-push.tsx"
import { Scrub } from "../parts/scrub.tsx"
import { SendFile } from "../parts/send-file-dialog.tsx"
import { useShellCommand } from "../parts/shell-command.ts"
import { Status } from "../parts/status.tsx"
import { Tabs } from "../parts/tabs.tsx"
import { TextView } from "../parts/text-view.tsx"
import { Time } from "../parts/time.tsx"

const PAGE_ROWS = 25

/** The company's repository: getting it, filling it without git, and what was pushed. */
export default function CodePage() {
  const mayRead = useMay("repository-show")
  const mayAdd = useMay("repository-upload")
  const found = useAnswer<RepositoryShown>("repository-show", {}, mayRead)
  if (!mayRead && !mayAdd) {
    const permissions = ["Download and pull the code", "Push and upload code"]
    return <NotYours {...{ title: "Code", what: "the code", permissions }} />
  }
  return (
    <Page
      title="Code"
      says="The company's repository, for git and for files. Secrets are found before anything is taken."
      actions={<Actions isEmpty={found.data?.refs.length === 0} />}
    >
      {mayRead ? (
        <Loaded of={found}>{(shown) => <Shown {...shown} />}</Loaded>
      ) : (
        <Empty
          title="You may add code, and not read it"
          says="Reading it takes the permission “Download and pull the code”. An owner or admin can give it to you."
        />
      )}
    </Page>
  )
}

function Actions({ isEmpty }: { readonly isEmpty: boolean }) {
  return (
    <>
      {isEmpty ? null : <Get />}
      <SendFile
        operation="repository-import"
        label="Import a bundle"
        says="All branches and tags of the bundle are taken in, as a push is, or nothing of it. git bundle create FILE --all writes one."
        accept=".bundle"
        done="The bundle was taken in."
        refused={(error) => <RefusedCode error={error} />}
      />
      <SendFile
        operation="repository-upload"
        label="Upload a zip"
        says="The zip becomes one commit on the default branch: with its files and no others. Links and a folder .git are refused; at most 100,000 files, 256 MiB each, 2 GiB unpacked. A secret in it refuses all of it."
        accept=".zip"
        asks={{ name: "message", label: "What changed" }}
        done="The files were taken in."
        variant="filled"
        refused={(error) => <RefusedCode error={error} />}
      />
    </>
  )
}

/** The repository as a file. */
function Get() {
  const [format, setFormat] = useState("zip")
  return (
    <Download
      operation="repository-export"
      input={{ format }}
      fileName={`code.${format}`}
      label="Download"
      says={
        format === "zip"
          ? "The files of the default branch, without their history."
          : "All branches and tags with their history: git clone FILE reads it."
      }
    >
      <Select
        label="As"
        allowDeselect={false}
        data={[
          { value: "zip", label: "Files (zip)" },
          { value: "bundle", label: "Everything (git bundle)" },
        ]}
        value={format}
        onChange={(value) => setFormat(value ?? "zip")}
      />
    </Download>
  )
}

function Shown({ isThere, branch, refs }: RepositoryShown) {
  const mayPushes = useMay("code-pushes")
  const mayScrub = useMay("repository-scrub")
  const commandFor = useShellCommand()
  if (!isThere) {
    return (
      <Empty
        title="There is no repository yet"
        says="An empty one is made here or by the command; an upload makes one as well."
        command={commandFor("repository create")}
      >
        <Action
          operation="repository-create"
          input={{}}
          label="Create the repository"
          variant="filled"
          says="An empty repository is made. The first branch that is pushed becomes its default branch."
          done="The repository is there."
        />
      </Empty>
    )
  }
  return (
    <Tabs
      label="The repository"
      tabs={[
        { name: "get", title: "Repository", content: () => <State {...{ branch, refs }} /> },
        ...(mayPushes ? [{ name: "pushes", title: "Pushes", content: () => <Pushes /> }] : []),
        ...(mayScrub ? [{ name: "scrub", title: "Take out", content: () => <Scrub /> }] : []),
      ]}
    />
  )
}

function State({ branch, refs }: Pick<RepositoryShown, "branch" | "refs">) {
  const mayPushes = useMay("code-pushes")
  const newest = useAnswer<PushList>("code-pushes", { limit: 1 }, mayPushes).data?.pushes[0]
  const tip = refs.find(({ kind, name }) => kind === "branch" && name === branch)
  const count = (kind: Ref["kind"]): number => refs.filter((one) => one.kind === kind).length
  return (
    <>
      <Facts
        of={[
          [
            "State",
            refs.length === 0 ? (
              <Status key="state" tone="quiet">
                Empty
              </Status>
            ) : (
              <Status key="state" tone="good">
                Has code
              </Status>
            ),
          ],
          ["Default branch", branch],
          ["It points to", <Id key="tip" id={tip?.id ?? null} />],
          ["Branches", count("branch")],
          ["Tags", count("tag")],
          ["Newest push", <Time key="push" at={newest?.at ?? null} />],
        ]}
      />
      <Clone />
      <Refs branch={branch} refs={refs} />
    </>
  )
}

/** How to get it by git. */
function Clone() {
  const { company, companyId } = useMe()
  const name = encodeURIComponent(company ?? companyId)
  const { host, protocol, origin } = window.location
  return (
    <Section
      title="Clone"
      says="git asks for a password: it is one of your keys, with the operation code.pull; code.push to push."
    >
      <TextView title="By git" text={`git clone ${protocol}//${name}@${host}/git/${name}.git`} />
      <TextView
        title="Once, so that git takes the key from LEDGER_KEY"
        text={`git config --global credential.${origin}.helper \\\n  '!f() { test "$1" = get && echo "password=$LEDGER_KEY"; }; f'`}
      />
    </Section>
  )
}

function Refs({ branch, refs }: Pick<RepositoryShown, "branch" | "refs">) {
  return (
    <Section
      title="Branches and tags"
      says="Files and commits are git's to show: clone it, or download its files."
    >
      <DataTable
        label="Branches and tags"
        rows={refs}
        rowKey={({ kind, name }) => `${kind} ${name}`}
        columns={[
          {
            title: "Name",
            cell: ({ name, kind }) =>
              kind === "branch" && name === branch ? `${name} (default)` : name,
            sortBy: ({ name }) => name,
          },
          {
            title: "Is a",
            isWide: true,
            cell: ({ kind }) => (kind === "branch" ? "Branch" : "Tag"),
            sortBy: ({ kind }) => kind,
          },
          { title: "Points to", cell: ({ id }) => <Id id={id} /> },
          {
            title: "Default",
            cell: ({ kind, name }) =>
              kind === "branch" && name !== branch ? <MakeDefault branch={name} /> : null,
          },
        ]}
        empty={
          <Empty
            title="The repository is empty"
            says="Push to it by git, upload a zip, or import a bundle."
            command="git push origin main"
          />
        }
      />
    </Section>
  )
}

function MakeDefault({ branch }: { readonly branch: string }) {
  return (
    <Action
      operation="repository-default-branch"
      input={{ branch }}
      label="Make default"
      variant="subtle"
      says={`Clones check out ${branch}, and boxes on a new branch begin there. No push can delete or force it.`}
      done={`${branch} is the default branch.`}
    />
  )
}

function Pushes() {
  const [{ before }] = useFilters()
  const list = useAnswer<PushList>("code-pushes", {
    ...(before === undefined ? {} : { before: Number(before) }),
    limit: PAGE_ROWS,
  })
  return <Loaded of={list}>{(found) => <PushTable {...found} />}</Loaded>
}
