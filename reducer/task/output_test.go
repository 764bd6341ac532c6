package task

import (
	"context"
	"errors"
	"io"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"seine/formats/layout"
	"seine/formats/lsm"
	"seine/formats/objstore"
	"seine/formats/objstore/mem"
	"seine/formats/rowfile"
	"seine/formats/schema"
	"seine/formats/taskend"
	"seine/formats/weburl"
	"seine/jobs"
)

func memEnv(t *testing.T) Env {
	store := mem.New()
	return Env{Store: store, Scratch: t.TempDir(), Codec: rowfile.Snappy,
		Open: func(ctx context.Context, key layout.Key, size int64) (io.ReaderAt, error) {
			return objstore.Open(ctx, store, key, size), nil
		}}
}

var reduceTask = jobs.Task{Spec: jobs.Spec{Job: 3, Kind: jobs.KindRound}, Stage: jobs.StageReduce,
	Index: 2, Range: layout.All, Attempt: layout.Attempt{Epoch: 1, N: 4}}

func domainRow(name string) schema.Domain {
	return schema.Domain{Partition: int32(weburl.Partition(name)), Domain: name, Delay: 1000}
}

func TestOutput(t *testing.T) {
	ctx := context.Background()
	e := memEnv(t)
	out, err := Create[schema.Domain](e, reduceTask, "slots", false)
	if err != nil {
		t.Fatal(err)
	}
	want := []schema.Domain{domainRow("b.test"), domainRow("a.test")}
	if err := out.Write(want...); err != nil {
		t.Fatal(err)
	}
	object, err := out.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	out.Abort() // says nothing any more
	if object.Key != "rounds/00000003/reduce/0002/a000001-0004/slots.parquet" || object.Rows != 2 {
		t.Errorf("object %+v", object)
	}
	var got []schema.Domain
	err = EachRow(ctx, e, *object, nil, func(row *schema.Domain) error {
		got = append(got, *row)
		return nil
	})
	if diff := gocmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("rows (-want +got): %v\n%s", err, diff)
	}
}

func TestEmptyOutputsLeaveNothing(t *testing.T) {
	ctx := context.Background()
	e := memEnv(t)
	out, err := Create[schema.Domain](e, reduceTask, "slots", true)
	if err != nil {
		t.Fatal(err)
	}
	if object, err := out.Finish(ctx); err != nil || object != nil {
		t.Errorf("output: %+v, %v", object, err)
	}
	run, err := CreateRun(e, reduceTask, lsm.Domains())
	if err != nil {
		t.Fatal(err)
	}
	if object, err := run.Finish(ctx); err != nil || object != nil {
		t.Errorf("run: %+v, %v", object, err)
	}
	queue, err := CreateQueue(e, reduceTask, schema.Ready)
	if err != nil {
		t.Fatal(err)
	}
	if object, err := queue.Finish(ctx); err != nil || object != nil {
		t.Errorf("queue: %+v, %v", object, err)
	}
	err = e.Store.List(ctx, "", "", func(info objstore.Info) error { return errors.New(info.Key) })
	if err != nil {
		t.Errorf("the store holds %v", err)
	}
}

func TestRunOutputNamesWhatItReplaces(t *testing.T) {
	ctx := context.Background()
	e := memEnv(t)
	out, err := CreateRun(e, reduceTask, lsm.Domains())
	if err != nil {
		t.Fatal(err)
	}
	row := domainRow("a.test")
	if err := out.Write(&row); err != nil {
		t.Fatal(err)
	}
	refs := []lsm.Ref{{Object: "z", Row: 0}, {Object: "y", Row: 7}, {Object: "z", Row: 5000},
		{Object: "y", Row: 8}, {Object: "z", Row: 1 << 40}}
	if err := out.Supersede(refs...); err != nil {
		t.Fatal(err)
	}
	if err := out.Supersede(lsm.Ref{Object: "y", Row: 8}); err == nil {
		t.Error("a row was named twice")
	}
	object, err := out.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	info, err := e.Store.Stat(ctx, object.Superseded)
	if err != nil {
		t.Fatal(err)
	}
	var got []schema.SupersededRow
	err = EachRow(ctx, e, lsm.Object{Key: object.Superseded, Bytes: info.Size}, nil,
		func(row *schema.SupersededRow) error { got = append(got, *row); return nil })
	want := []schema.SupersededRow{{Object: "y", Row: 7}, {Object: "y", Row: 8}, {Object: "z", Row: 0},
		{Object: "z", Row: 5000}, {Object: "z", Row: 1 << 40}}
	if diff := gocmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("superseded rows (-want +got): %v\n%s", err, diff)
	}
	if object.SupersededRows != 5 || object.SidecarBytes == 0 {
		t.Errorf("object %+v", object)
	}
}

func TestFinishTakesAnOlderEnd(t *testing.T) {
	ctx := context.Background()
	e := memEnv(t)
	if _, ended, err := e.Ended(ctx, reduceTask); ended || err != nil {
		t.Errorf("ended before it began: %v, %v", ended, err)
	}
	first := &taskend.Reduce{Format: 1, Range: layout.All, Counts: map[string]int64{"n": 1}}
	want, err := e.Finish(ctx, reduceTask, first)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := e.Finish(ctx, reduceTask, first); err != nil || got.End != want.End {
		t.Errorf("finished again: %+v, %v", got, err)
	}
	got, ended, err := e.Ended(ctx, reduceTask)
	if diff := gocmp.Diff(want, got); err != nil || !ended || diff != "" {
		t.Errorf("ended: %v, %v (-want +got):\n%s", ended, err, diff)
	}
}
