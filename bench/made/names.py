"""Parts of the names in a made-up world."""

WOMEN = (
    "Ines Odile Marta Lena Clara Edith Hanna Nora Petra Saskia Tilda Ursula Vera Wanda Agnes Berta Celia Dora Elsa "
    "Frida Greta Hilda Ida Judith Karin Lotte Mina Olga Paula Rosa Selma Thea Yvonne Zelda Alma Bridget Cora Delia "
    "Esther Flora"
).split()
MEN = (
    "Anton Bruno Casper Daniel Emil Felix Gustav Henrik Ivo Jonas Klaus Leo Martin Nils Otto Pavel Quentin Rufus "
    "Simon Theo Ulrich Victor Walter Xaver Yuri Adrian Boris Conrad Dieter Edgar Frank Gregor Hugo Igor Julian Karl "
    "Ludwig Magnus Oscar Piet"
).split()
SURNAME_STEMS = (
    "Cal Tarn Vel Hask Brenn Ost Dun Kell Lor Pend Quin Rav Sorr Wend Yar Bram Fen Gar Hol Jess Mal Nor Pel Stan Tren"
).split()
SURNAME_ENDS = "oway ick ard over ham wright ley mond aker ow ine stone ton ditch bury ander".split()
TOWN_STEMS = (
    "Mar Brack Ald Ember Oak Stow Harrow Kes Lind Mill Nether Orm Pock Rook Salt Thorn Under Wolver Ash Birch Clay "
    "Dray Elder Fal"
).split()
TOWN_ENDS = "wick ford haven mere stead combe port dale minster ness".split()
TOWN_SECONDS = ("", "", " Bridge", " Hill", " Ferry", " Magna", " Parva")
REGION_ENDS = "shire|land|moor| Vale| Reach".split("|")
ADJECTIVES = (
    "Blue Quiet Crooked Silver Northern Idle Patient Amber Hollow Second Winter Paper Salt Long Broken Gilded "
    "Distant Narrow Painted Early"
).split()
NOUNS = (
    "Heron Anchor Lantern Orchard Compass Harvest Staircase Kite Thimble Ferry Beacon Garden Sparrow Mirror Bell "
    "Ladder Harbour Meadow Feather Candle"
).split()
