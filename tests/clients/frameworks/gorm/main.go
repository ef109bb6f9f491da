// GORM as an application has it: AutoMigrate twice, the Migrator, associations, transactions, locks. Prints what it saw.
package main

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"gorm.io/datatypes"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

type Profile struct {
	ID     uint
	UserID uint `gorm:"uniqueIndex"`
	Bio    string
}

type Pet struct {
	ID        uint
	Name      string `gorm:"size:20;index:pet_name_kind,priority:2"`
	Kind      string `gorm:"type:varchar(10);index:pet_name_kind,priority:1;check:pet_kind,kind <> ''"`
	OwnerID   uint
	OwnerType string
}

type Language struct {
	Code string `gorm:"primaryKey;size:5"`
	Name string
}

type User struct {
	gorm.Model
	Name      string    `gorm:"size:50;not null;index:,where:name <> ''"`
	Email     *string   `gorm:"unique"`
	Age       uint8     `gorm:"default:18;comment:years"`
	Balance   float64   `gorm:"type:numeric(12,2);default:0"`
	Born      time.Time `gorm:"type:date"`
	Active    bool      `gorm:"not null;default:true"`
	Doc       datatypes.JSON
	Token     datatypes.UUID
	Photo     []byte
	Big       int64
	Code      string `gorm:"->;type:text generated always as (upper(name)) stored"`
	ManagerID *uint
	Manager   *User
	Profile   Profile    `gorm:"constraint:OnDelete:CASCADE"`
	Pets      []Pet      `gorm:"polymorphic:Owner"`
	Languages []Language `gorm:"many2many:user_languages"`
}

func show(name string, v any, err error) {
	if err != nil {
		fmt.Println(name, "error", strings.ReplaceAll(err.Error(), "\n", " "), errors.Is(err, gorm.ErrDuplicatedKey), errors.Is(err, gorm.ErrForeignKeyViolated), errors.Is(err, gorm.ErrCheckConstraintViolated), errors.Is(err, gorm.ErrRecordNotFound))
		return
	}
	fmt.Println(name, v)
}

func main() {
	l := logger.Default.LogMode(logger.Silent)
	db, err := gorm.Open(postgres.Open(os.Args[1]), &gorm.Config{Logger: l, TranslateError: true})
	if err != nil {
		panic(err)
	}
	raw, _ := db.DB()
	raw.SetMaxOpenConns(8)
	models := []any{&User{}, &Profile{}, &Pet{}, &Language{}}
	m := db.Migrator()
	show("drop", "ok", m.DropTable(&Pet{}, &Profile{}, "user_languages", &Language{}, &User{}))
	show("migrate", "ok", db.AutoMigrate(models...))
	var ran []string
	db.Callback().Raw().After("gorm:raw").Register("seen", func(d *gorm.DB) {
		if s := d.Statement.SQL.String(); !strings.HasPrefix(strings.ToUpper(s), "SELECT") {
			ran = append(ran, s)
		}
	})
	show("again", "ok", db.AutoMigrate(models...))
	fmt.Println("again ran", ran)
	for _, model := range append(models, "user_languages") {
		types, err := m.ColumnTypes(model)
		show("columns", len(types), err)
		// The catalog is read without ORDER BY.
		sort.Slice(types, func(i, j int) bool { return types[i].Name() < types[j].Name() })
		for _, c := range types {
			length, lok := c.Length()
			p, s, dok := c.DecimalSize()
			null, _ := c.Nullable()
			d, _ := c.DefaultValue()
			pk, _ := c.PrimaryKey()
			auto, _ := c.AutoIncrement()
			u, _ := c.Unique()
			t, _ := c.ColumnType()
			comment, _ := c.Comment()
			fmt.Println(" ", c.Name(), c.DatabaseTypeName(), t, length, lok, p, s, dok, null, d, pk, auto, u, comment, c.ScanType())
		}
		if _, ok := model.(string); ok {
			continue
		}
		indexes, err := m.GetIndexes(model)
		var lines []string
		for _, i := range indexes {
			u, _ := i.Unique()
			pk, _ := i.PrimaryKey()
			lines = append(lines, fmt.Sprint("  index ", i.Name(), i.Columns(), u, pk, i.Option()))
		}
		sort.Strings(lines)
		show("indexes", strings.Join(lines, "\n"), err)
	}
	tables, err := m.GetTables()
	sort.Strings(tables)
	show("tables", tables, err)
	fmt.Println(m.HasTable(&User{}), m.HasTable("nowhere"), m.HasColumn(&User{}, "Age"), m.HasIndex(&Pet{}, "pet_name_kind"), m.HasConstraint(&Pet{}, "pet_kind"), m.HasConstraint(&User{}, "Profile"), m.HasConstraint(&User{}, "Manager"), m.CurrentDatabase() != "")
	show("alter", "ok", m.AlterColumn(&Language{}, "Name"))
	show("rename column", "ok", m.RenameColumn(&Pet{}, "name", "called"))
	show("rename back", "ok", m.RenameColumn(&Pet{}, "called", "name"))
	show("rename index", "ok", m.RenameIndex(&Pet{}, "pet_name_kind", "pnk"))
	show("drop index", "ok", m.DropIndex(&Pet{}, "pnk"))
	show("drop constraint", "ok", m.DropConstraint(&Pet{}, "pet_kind"))
	show("drop column", "ok", m.DropColumn(&Language{}, "name"))
	show("create view", "ok", m.CreateView("adults", gorm.ViewOption{Replace: true, Query: db.Model(&User{}).Where("age > ?", 17)}))
	show("drop view", "ok", m.DropView("adults"))
	ran = nil
	show("repair", "ok", db.AutoMigrate(models...))
	fmt.Println("repair ran", ran)

	mail := func(s string) *string { return &s }
	var users []User
	for i := 1; i <= 30; i++ {
		users = append(users, User{Name: fmt.Sprint("u", i), Email: mail(fmt.Sprint("u", i, "@x")), Age: uint8(i), Balance: float64(i) * 1.25, Born: time.Date(1990, 1, i, 0, 0, 0, 0, time.UTC), Doc: datatypes.JSON(fmt.Sprintf(`{"n": %d, "deep": {"k": ["a", %d]}}`, i, i)), Photo: []byte{0, byte(i)}, Big: 1 << 60,
			Profile: Profile{Bio: "bio"}, Pets: []Pet{{Name: "p", Kind: "cat"}, {Name: "q", Kind: "dog"}}, Languages: []Language{{Code: "de", Name: "German"}, {Code: "en", Name: "English"}}})
	}
	r := db.Omit("Token").CreateInBatches(&users, 7)
	show("create", fmt.Sprint(r.RowsAffected, users[29].ID, users[0].Code), r.Error)
	var u User
	err = db.Preload(clause.Associations).Joins("Manager").First(&u, 7).Error
	show("first", fmt.Sprint(u.Name, *u.Email, u.Age, u.Balance, u.Born.Format(time.DateOnly), u.Active, u.Doc, u.Photo, u.Big, u.Code, u.Profile.Bio, len(u.Pets), len(u.Languages)), err)
	show("not found", u.ID, db.First(&User{}, 9999).Error)
	var some []User
	err = db.Joins("Profile").Where("users.age BETWEEN ? AND ?", 5, 9).Where(datatypes.JSONQuery("doc").HasKey("deep", "k")).Or(datatypes.JSONQuery("doc").Equals(20, "n")).Order("users.id DESC").Limit(3).Offset(1).Find(&some).Error
	for _, s := range some {
		fmt.Println(" ", s.ID, s.Name, s.Profile.Bio)
	}
	show("find", len(some), err)
	var sums []struct {
		Kind  string
		Count int64
		Sum   float64
	}
	err = db.Table("pets").Select("kind, count(*), sum(u.balance)").Joins("JOIN users u ON u.id = owner_id AND owner_type = ?", "users").Group("kind").Having("count(*) > ?", 1).Order("kind").Scan(&sums).Error
	show("group", sums, err)
	r = db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "email"}}, DoUpdates: clause.AssignmentColumns([]string{"name", "age"})}).Omit("Token").Create(&User{Name: "upserted", Email: mail("u3@x"), Age: 99})
	show("upsert", r.RowsAffected, r.Error)
	r = db.Clauses(clause.OnConflict{DoNothing: true}).Create(&Language{Code: "de"})
	show("nothing", r.RowsAffected, r.Error)
	var back []User
	r = db.Model(&back).Clauses(clause.Returning{Columns: []clause.Column{{Name: "id"}, {Name: "balance"}}}).Where("id < ?", 4).Update("balance", gorm.Expr("balance * ? + ?", 2, 1))
	show("returning", fmt.Sprint(r.RowsAffected, len(back)), r.Error)
	r = db.Model(&u).Updates(map[string]any{"name": "changed", "doc": datatypes.JSONSet("doc").Set("{n}", 77)})
	show("updates", r.RowsAffected, r.Error)
	r = db.Delete(&User{}, []int{28, 29})
	var count, all int64
	db.Model(&User{}).Count(&count)
	db.Unscoped().Model(&User{}).Count(&all)
	show("soft delete", fmt.Sprint(r.RowsAffected, count, all), r.Error)
	show("association", db.Model(&u).Association("Languages").Count(), db.Model(&u).Association("Languages").Delete(Language{Code: "de"}))
	batches := 0
	r = db.Where("age > 0").FindInBatches(&some, 10, func(tx *gorm.DB, n int) error { batches = n; return nil })
	show("batches", fmt.Sprint(r.RowsAffected, batches), r.Error)

	show("duplicate", "ok", db.Omit("Token").Create(&User{Name: "x", Email: mail("u1@x")}).Error)
	show("foreign key", "ok", db.Create(&Profile{UserID: 9999}).Error)
	show("check", "ok", db.Create(&Pet{Name: "x", Kind: ""}).Error)
	show("check, by hand", "ok", db.Exec("UPDATE pets SET kind = '' WHERE id = 1").Error)
	show("null", "ok", db.Exec("UPDATE users SET name = NULL WHERE id = 1").Error)
	show("too long", "ok", db.Create(&Pet{Name: strings.Repeat("x", 21), Kind: "cat"}).Error)
	show("transaction", "ok", db.Transaction(func(tx *gorm.DB) error {
		tx.Model(&User{}).Where("id = 1").Update("name", "outer")
		show("nested", "ok", tx.Transaction(func(tx *gorm.DB) error { return tx.Omit("Token").Create(&User{Name: "x", Email: mail("u2@x")}).Error }))
		tx.SavePoint("sp")
		tx.Model(&User{}).Where("id = 1").Update("name", "inner")
		tx.RollbackTo("sp")
		return nil
	}))
	db.First(&u, 1)
	var fresh User
	db.First(&fresh, 1)
	fmt.Println(fresh.Name)
	show("rollback", "ok", db.Transaction(func(tx *gorm.DB) error { tx.Exec("DELETE FROM pets"); return errors.New("no") }))
	var wait sync.WaitGroup
	for w := 0; w < 8; w++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for k := 0; k < 10; {
				if db.Transaction(func(tx *gorm.DB) error {
					var p Profile
					if err := tx.Clauses(clause.Locking{Strength: "UPDATE"}).First(&p, 1).Error; err != nil {
						return err
					}
					return tx.Model(&p).Update("bio", p.Bio+"x").Error
				}) == nil {
					k++
				}
			}
		}()
	}
	wait.Wait()
	var p Profile
	db.First(&p, 1)
	fmt.Println("counted", len(p.Bio))
	var ids []int
	show("skip locked", len(ids), db.Transaction(func(tx *gorm.DB) error {
		if err := tx.Clauses(clause.Locking{Strength: "UPDATE"}).Find(&[]Pet{}, "id < 4").Error; err != nil {
			return err
		}
		return db.Model(&Pet{}).Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"}).Where("id < 7").Order("id").Pluck("id", &ids).Error
	}))
	fmt.Println(ids)
	db.Model(&Pet{}).Count(&count)
	fmt.Println("pets", count)
	show("drop", "ok", m.DropTable(&Pet{}, &Profile{}, "user_languages", &Language{}, &User{}))
}
