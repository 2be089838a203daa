import { Select } from "@mantine/core"
import { useState } from "react"
import type { PushList, Ref, RepositoryDetails } from "../api/code-answers.ts"
import { useOperationQuery, useCanRun } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import { ActionButton } from "../parts/action-button.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { DownloadButton } from "../parts/download.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { DetailList } from "../parts/detail-list.tsx"
import { useFilters } from "../parts/filters.ts"
import { Id } from "../parts/id.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { NoPermission } from "../parts/no-permission.tsx"
import { PageLayout, Section } from "../parts/page-layout.tsx"
import { PushTable } from "../parts/push-table.tsx"
import { RefusedCodeError } from "../parts/refused-push.tsx"
import { ScrubSection } from "../parts/scrub-section.tsx"
import { UploadFileButton } from "../parts/upload-file-button.tsx"
import { useShellCommand } from "../parts/shell-command.ts"
import { StatusBadge } from "../parts/status-badge.tsx"
import { Tabs } from "../parts/tabs.tsx"
import { TextView } from "../parts/text-view.tsx"
import { Time } from "../parts/time.tsx"

const PAGE_ROWS = 25

/** The company's repository: getting it, filling it without git, and what was pushed. */
export default function CodePage() {
  const mayRead = useCanRun("repository-show")
  const mayAdd = useCanRun("repository-upload")
  const found = useOperationQuery<RepositoryDetails>("repository-show", {}, mayRead)
  if (!mayRead && !mayAdd) {
    const permissions = ["Download and pull the code", "Push and upload code"]
    return <NoPermission {...{ title: "Code", what: "the code", permissions }} />
  }
  return (
    <PageLayout
      title="Code"
      description="The company's repository, for git and for files. Secrets are found before anything is taken."
      actions={<Actions isEmpty={found.data?.refs.length === 0} />}
    >
      {mayRead ? (
        <QueryView query={found}>{(shown) => <RepositoryContent {...shown} />}</QueryView>
      ) : (
        <EmptyState
          title="You may add code, and not read it"
          description="Reading it takes the permission “Download and pull the code”. An owner or admin can give it to you."
        />
      )}
    </PageLayout>
  )
}

function Actions({ isEmpty }: { readonly isEmpty: boolean }) {
  return (
    <>
      {isEmpty ? null : <DownloadRepository />}
      <UploadFileButton
        operation="repository-import"
        label="Import a bundle"
        description="All branches and tags of the bundle are taken in, as a push is, or nothing of it. git bundle create FILE --all writes one."
        accept=".bundle"
        successMessage="The bundle was taken in."
        refused={(error) => <RefusedCodeError error={error} />}
      />
      <UploadFileButton
        operation="repository-upload"
        label="Upload a zip"
        description="The zip becomes one commit on the default branch: with its files and no others. Links and a folder .git are refused; at most 100,000 files, 256 MiB each, 2 GiB unpacked. A secret in it refuses all of it."
        accept=".zip"
        asks={{ name: "message", label: "What changed" }}
        successMessage="The files were taken in."
        variant="filled"
        refused={(error) => <RefusedCodeError error={error} />}
      />
    </>
  )
}

/** The repository as a file. */
function DownloadRepository() {
  const [format, setFormat] = useState("zip")
  return (
    <DownloadButton
      operation="repository-export"
      input={{ format }}
      fileName={`code.${format}`}
      label="Download"
      description={
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
    </DownloadButton>
  )
}

function RepositoryContent({ isThere, branch, refs }: RepositoryDetails) {
  const mayPushes = useCanRun("code-pushes")
  const mayScrub = useCanRun("repository-scrub")
  const commandFor = useShellCommand()
  if (!isThere) {
    return (
      <EmptyState
        title="There is no repository yet"
        description="An empty one is made here or by the command; an upload makes one as well."
        command={commandFor("repository create")}
      >
        <ActionButton
          operation="repository-create"
          input={{}}
          label="Create the repository"
          variant="filled"
          description="An empty repository is made. The first branch that is pushed becomes its default branch."
          successMessage="The repository is there."
        />
      </EmptyState>
    )
  }
  return (
    <Tabs
      label="The repository"
      tabs={[
        {
          name: "get",
          title: "Repository",
          content: () => <RepositorySummary {...{ branch, refs }} />,
        },
        ...(mayPushes ? [{ name: "pushes", title: "Pushes", content: () => <Pushes /> }] : []),
        ...(mayScrub
          ? [{ name: "scrub", title: "Take out", content: () => <ScrubSection /> }]
          : []),
      ]}
    />
  )
}

function RepositorySummary({ branch, refs }: Pick<RepositoryDetails, "branch" | "refs">) {
  const mayPushes = useCanRun("code-pushes")
  const newest = useOperationQuery<PushList>("code-pushes", { limit: 1 }, mayPushes).data?.pushes[0]
  const tip = refs.find(({ kind, name }) => kind === "branch" && name === branch)
  const count = (kind: Ref["kind"]): number => refs.filter((one) => one.kind === kind).length
  return (
    <>
      <DetailList
        items={[
          [
            "State",
            refs.length === 0 ? (
              <StatusBadge key="state" tone="quiet">
                Empty
              </StatusBadge>
            ) : (
              <StatusBadge key="state" tone="good">
                Has code
              </StatusBadge>
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
      description="git asks for a password: it is one of your keys, with the operation code.pull; code.push to push."
    >
      <TextView title="By git" text={`git clone ${protocol}//${name}@${host}/git/${name}.git`} />
      <TextView
        title="Once, so that git takes the key from LEDGER_KEY"
        text={`git config --global credential.${origin}.helper \\\n  '!f() { test "$1" = get && echo "password=$LEDGER_KEY"; }; f'`}
      />
    </Section>
  )
}

function Refs({ branch, refs }: Pick<RepositoryDetails, "branch" | "refs">) {
  return (
    <Section
      title="Branches and tags"
      description="Files and commits are git's to show: clone it, or download its files."
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
            isHiddenOnNarrow: true,
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
          <EmptyState
            title="The repository is empty"
            description="Push to it by git, upload a zip, or import a bundle."
            command="git push origin main"
          />
        }
      />
    </Section>
  )
}

function MakeDefault({ branch }: { readonly branch: string }) {
  return (
    <ActionButton
      operation="repository-default-branch"
      input={{ branch }}
      label="Make default"
      variant="subtle"
      description={`Clones check out ${branch}, and boxes on a new branch begin there. No push can delete or force it.`}
      successMessage={`${branch} is the default branch.`}
    />
  )
}

function Pushes() {
  const [{ before }] = useFilters()
  const list = useOperationQuery<PushList>("code-pushes", {
    ...(before === undefined ? {} : { before: Number(before) }),
    limit: PAGE_ROWS,
  })
  return <QueryView query={list}>{(found) => <PushTable {...found} />}</QueryView>
}
